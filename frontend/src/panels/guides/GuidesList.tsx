import { Anchor, SimpleGrid } from "@mantine/core"
import { Link } from "react-router"
import { Panel } from "@/components/page/Panel"
import { GUIDES } from "@/lib/guides/guides"

export function GuidesList() {
  return (
    <Panel title="All guides">
      <SimpleGrid component="nav" aria-label="Guides" cols={{ base: 1, xs: 2, md: 3 }} spacing="xs">
        {GUIDES.map(({ name, title }) => (
          <Anchor key={name} component={Link} to={`/guides/${name}`} py={2}>
            {title}
          </Anchor>
        ))}
      </SimpleGrid>
    </Panel>
  )
}
