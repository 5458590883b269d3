import { Code, Group, Stack, Table, Text } from "@mantine/core"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { curl, firstSentence, reflowed, type Operation } from "@/lib/api/apiDocs"
import classes from "./api.module.css"

/** A request: closed a line, opened all that goes in and comes out. */
export function OperationItem({ operation }: { operation: Operation }) {
  const { id, method, path, description, parameters, body, answers } = operation
  const command = curl(operation, window.location.origin)
  return (
    <details className={classes.operation} id={id}>
      <summary>
        <b className={classes.method}>{method}</b>
        <code className={classes.path}>{path}</code>
        <span className={classes.first}>
          <Worded text={firstSentence(description)} />
        </span>
      </summary>
      <Stack gap="sm" className={classes.inside}>
        <Text size="sm" className={classes.text}>
          <Worded text={reflowed(description)} />
        </Text>
        {parameters.length > 0 && (
          <Table aria-label={`Parameters of ${id}`}>
            <Table.Tbody>
              {parameters.map((each) => (
                <Table.Tr key={`${each.place} ${each.name}`}>
                  <Table.Td>
                    <code>{each.name}</code>
                    <Text size="xs" c="dimmed">
                      {each.place}
                      {each.required && ", required"}
                    </Text>
                  </Table.Td>
                  <Table.Td className={classes.text}>
                    <Worded text={reflowed(each.description)} />
                    <Text size="xs" c="dimmed">
                      {each.type}
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
        {body && <Text size="sm">Takes {body}</Text>}
        <Text size="sm">
          {answers.map(({ status, type }) => `${status}: ${type}`).join(" · ")}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <Code className={classes.text}>{command}</Code>
          <CopyIcon value={command} what="the command" />
        </Group>
      </Stack>
    </details>
  )
}

/** Text between back-ticks is a name. */
function Worded({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))
}
