import { Code, List } from "@mantine/core"

/** Findings about places in a job file: mistakes, or limits that it is over. */
export function Findings({ items }: { items: readonly { pointer: string; message: string }[] }) {
  return (
    <List size="sm" spacing={4} mt={6}>
      {items.map(({ pointer, message }) => (
        <List.Item key={`${pointer} ${message}`} style={{ overflowWrap: "anywhere" }}>
          {pointer && <Code>{pointer.slice(1).replaceAll("/", ".")}</Code>} {message}
        </List.Item>
      ))}
    </List>
  )
}
