import { Button, Group, SegmentedControl, Stack, Text, TextInput } from "@mantine/core"
import { useState } from "react"
import type { TableKey } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useTableKey, type AskedKey } from "@/hooks/job/tables/useTables"
import { formatMoment, formatNumber } from "@/lib/format"
import { aboutExport, readsInstead } from "@/lib/job/tables"

const KINDS = [
  { value: "key", label: "Number" },
  { value: "text", label: "Text" },
]

/** One key in the newest export and checkpoint: its row, or why there is none. */
export function LookUpPanel({ asked, onAsk }: { asked: AskedKey | null; onAsk: (asked: AskedKey) => void }) {
  const jobId = useFeed((feed) => feed.job.id)
  const found = useTableKey(jobId, asked)
  return (
    <Panel wide title="Look a key up" subtitle="In the newest export and the newest checkpoint: its row, or why it is not there. A text is hashed as gradstream.nn.hashed does.">
      <KeyForm onAsk={onAsk} />
      {asked && (
        <Loaded {...found} height={80}>
          <Stack gap="md" pt="md" role="status" aria-label="Found">
            {found.data?.items.map((item) => (
              <FoundKey key={item.table} found={item} />
            ))}
          </Stack>
        </Loaded>
      )}
    </Panel>
  )
}

function KeyForm({ onAsk }: { onAsk: (asked: AskedKey) => void }) {
  const [kind, setKind] = useState("key")
  const [typed, setTyped] = useState("")
  const [field, setField] = useState("")
  const [table, setTable] = useState("")
  const isText = kind === "text"
  const isReady = isText || typed.trim() !== ""
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) onAsk({ typed: isText ? typed : typed.trim(), field: isText ? field : null, table: table.trim() || null, at: Date.now() })
      }}
    >
      <Group gap="xs" align="flex-end">
        <SegmentedControl size="xs" data={KINDS} value={kind} onChange={setKind} aria-label="Kind of key" />
        <TextInput size="xs" flex={1} miw={140} label={isText ? "Text" : "Key"} value={typed} onChange={(event) => setTyped(event.currentTarget.value)} />
        {isText && <TextInput size="xs" w={130} label="Field" placeholder="the table" value={field} onChange={(event) => setField(event.currentTarget.value)} />}
        <TextInput size="xs" w={130} label="Table" placeholder="all tables" value={table} onChange={(event) => setTable(event.currentTarget.value)} />
        <Button size="xs" type="submit" disabled={!isReady}>
          Look up
        </Button>
      </Group>
    </form>
  )
}

function FoundKey({ found }: { found: TableKey }) {
  const { table, key, message, values, checkpoint } = found
  const where = found.export && `${aboutExport(found.export)} · ${formatMoment(found.export.committed_at)}`
  return (
    <div>
      <Text size="sm" fw={600}>
        {table}, key {key}
      </Text>
      <Text size="sm">{message}</Text>
      {where && (
        <Text size="xs" c="dimmed">
          {where}
        </Text>
      )}
      {values ? (
        <Text size="sm" ff="monospace" style={{ overflowWrap: "anywhere" }} aria-label={`Weights of key ${key} in ${table}`}>
          {values.map((value) => (value === null ? "not finite" : String(value))).join("  ")}
        </Text>
      ) : (
        <Text size="sm">{readsInstead(found.reads)}</Text>
      )}
      <Text size="sm" pt={4}>
        {checkpoint.message}
        {checkpoint.score !== null && ` Shows ${formatNumber(checkpoint.shows)}, clicks ${formatNumber(checkpoint.clicks)}, score ${formatNumber(checkpoint.score)}.`}
      </Text>
    </div>
  )
}
