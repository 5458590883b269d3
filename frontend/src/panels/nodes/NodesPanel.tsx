import { SimpleGrid } from "@mantine/core"
import { IconServerOff } from "@tabler/icons-react"
import { Loaded } from "@/components/messages/Loaded"
import { useNodes } from "@/hooks/platform/useNodes"
import { NodeCard } from "./NodeCard"

export function NodesPanel() {
  const nodes = useNodes()
  const items = nodes.data?.items ?? []
  return (
    <Loaded {...nodes} isEmpty={items.length === 0} empty="No machine has joined. Start an agent with: gradstream join" emptyIcon={IconServerOff} height={280}>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        {items.map((node) => (
          <NodeCard key={node.id} node={node} />
        ))}
      </SimpleGrid>
    </Loaded>
  )
}
