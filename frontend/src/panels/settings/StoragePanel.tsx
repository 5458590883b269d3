import { Stack, Table, Text } from "@mantine/core"
import { ConfirmButton } from "@/components/buttons/ConfirmButton"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useCollectStorage, useStorage, useUnneeded } from "@/hooks/platform/useStorage"
import { counted, formatBytes, formatCount } from "@/lib/format"

const REMOVED = "Removed every hour: bundles that no job uses, uploads that were never completed, files of deleted jobs, stray files"

/** Disk usage of the platform, and the removal of unused data. */
export function StoragePanel() {
  const storage = useStorage()
  const collection = useCollectStorage()
  const free = storage.data && `${formatBytes(storage.data.disk_free_bytes)} of ${formatBytes(storage.data.disk_bytes)} are free on the disk`
  return (
    <Panel
      title="Storage"
      subtitle={free}
      actions={
        <ConfirmButton
          label="Remove unused data"
          variant="default"
          size="xs"
          question="Remove unused data?"
          consequence={<Unneeded />}
          onConfirm={() => collection.mutateAsync()}
          pending={collection.isPending}
          error={collection.error}
        />
      }
    >
      <Loaded {...storage}>
        <Table aria-label="Storage">
          <Table.Thead>
            <Table.Tr>
              <Table.Th pl={0}>Kind</Table.Th>
              <Table.Th ta="right">Files</Table.Th>
              <Table.Th pr={0} ta="right">
                Size
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {storage.data?.items.map(({ kind, count, bytes }) => (
              <Table.Tr key={kind}>
                <Table.Td pl={0}>{kind}</Table.Td>
                <Table.Td ta="right">{count === null ? "" : formatCount(count)}</Table.Td>
                <Table.Td pr={0} ta="right">
                  {formatBytes(bytes)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        <Text size="xs" c="dimmed" mt="xs">
          {REMOVED}
        </Text>
      </Loaded>
    </Panel>
  )
}

/** The data that would go. The panel asks for it when the question opens. */
function Unneeded() {
  const unneeded = useUnneeded()
  const { items = [], complete = true } = unneeded.data ?? {}
  return (
    <Loaded {...unneeded} isEmpty={items.length === 0} empty="No unused data." height={60}>
      <Stack gap={4} component="span">
        {items.map(({ kind, count, bytes, names }) => (
          <Text key={kind} size="sm" span title={names.join("\n")}>
            {counted(count, kind)}, {formatBytes(bytes)}
          </Text>
        ))}
        <Text size="sm" span>
          {complete ? "No job loses data." : "No job loses data. More unused data is left: repeat the removal."}
        </Text>
      </Stack>
    </Loaded>
  )
}
