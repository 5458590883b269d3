import { Stack, TextInput } from "@mantine/core"
import { IconSearch } from "@tabler/icons-react"
import { useRef, useState } from "react"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useApiDocument } from "@/hooks/platform/useApiDocument"
import { useKeys } from "@/hooks/useKeys"
import { sections } from "@/lib/api/apiDocs"
import { OperationItem } from "./OperationItem"

export function ApiPanel() {
  const document = useApiDocument()
  const [text, setText] = useState("")
  const search = useRef<HTMLInputElement>(null)
  useKeys("API", [{ keys: ["/"], label: "Search", run: () => search.current?.focus() }])
  const wanted = text.toLowerCase()
  const found = (document.data ? sections(document.data) : [])
    .map((section) => ({ ...section, operations: section.operations.filter((each) => `${each.method} ${each.path} ${each.id} ${each.description}`.toLowerCase().includes(wanted)) }))
    .filter(({ operations }) => operations.length > 0)
  return (
    <Stack gap="md">
      <TextInput ref={search} aria-label="Find a request" placeholder="Find a request" leftSection={<IconSearch size={16} />} value={text} onChange={(event) => setText(event.currentTarget.value)} maw={420} />
      <Loaded {...document} isEmpty={found.length === 0} empty="No request has these words.">
        {found.map(({ tag, operations }) => (
          <Panel key={tag} title={tag} flush>
            {operations.map((operation) => (
              <OperationItem key={operation.id} operation={operation} />
            ))}
          </Panel>
        ))}
      </Loaded>
    </Stack>
  )
}
