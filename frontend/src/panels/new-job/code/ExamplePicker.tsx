import { Button, Menu } from "@mantine/core"
import { IconBook2, IconChevronDown } from "@tabler/icons-react"
import { codeOf } from "@/hooks/new-job/useBeginning"
import { useExamples } from "@/hooks/new-job/useExamples"
import type { Code } from "@/lib/upload/bundle"

export function ExamplePicker({ onCode, onText }: { onCode: (code: Code) => void; onText: (text: string) => void }) {
  const examples = useExamples().data ?? []
  if (examples.length === 0) return null
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button variant="default" leftSection={<IconBook2 size={16} />} rightSection={<IconChevronDown size={14} />}>
          Use an example
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {examples.map((example) => (
          <Menu.Item
            key={example.name}
            onClick={() => {
              onCode(codeOf(example))
              onText(example.yaml)
            }}
          >
            {example.title}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
