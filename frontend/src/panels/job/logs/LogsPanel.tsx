import { Button, Group, Switch, Text } from "@mantine/core"
import { IconDownload } from "@tabler/icons-react"
import { useEffect, useMemo, useState } from "react"
import { logsUrl } from "@/client"
import { LogView } from "@/components/display/LogView"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useConnection, useFeed } from "@/hooks/job/useFeed"
import { useLogFilter, useLogPlace } from "@/hooks/job/useLogFilter"
import { useLogs } from "@/hooks/job/useLogs"
import { useNothing } from "@/hooks/job/useNothing"
import { counted, formatCount } from "@/lib/format"
import { isFiltered, matcher } from "@/lib/logs/logFilter"
import type { Connection } from "@/lib/stream/stream"
import { LogFilterBar } from "./LogFilterBar"

/** A view that has fewer lines than these after filtering reads on by itself. */
const ENOUGH = 200

export function LogsPanel() {
  const { snapshot, readOlder, hasOlder, isReadingOlder, ...query } = useLogs()
  const id = useFeed((feed) => feed.job.id)
  const connection = useConnection()
  const nothing = useNothing()
  const [filter] = useLogFilter()
  const [place, setPlace] = useLogPlace()
  const [follow, setFollow] = useState(place === null)
  const { role, rank, level, text, regex } = filter
  const { fits, error } = useMemo(() => matcher({ role, rank, level, text, regex }), [role, rank, level, text, regex])
  const lines = useMemo(() => (isFiltered({ role, rank, level, text, regex }) ? snapshot.lines.filter(fits) : snapshot.lines.slice()), [snapshot, fits, role, rank, level, text, regex])

  const [begun] = useState(place)
  const missing = begun !== null && snapshot.lines.length > 0 && Number.parseInt(begun) < snapshot.lines[0]!.seq
  const wanted = (isFiltered(filter) && lines.length < ENOUGH) || missing
  useEffect(() => {
    if (wanted && hasOlder && !isReadingOlder) void readOlder()
  }, [wanted, hasOlder, isReadingOlder, readOlder, snapshot])

  const moved = (atEnd: boolean, top: string | null) => {
    setFollow(atEnd)
    setPlace(atEnd ? null : top)
  }
  return (
    <Panel
      title="Logs"
      subtitle={query.isSuccess ? `${countLines(lines.length, snapshot.lines.length)}${rest(hasOlder, connection)}` : undefined}
      flush
      actions={
        <Group gap="sm" justify="flex-end">
          <Switch size="xs" label="Follow" checked={follow} onChange={(event) => moved(event.currentTarget.checked, null)} />
          <Button component="a" href={logsUrl(id, { role, rank })} download size="xs" variant="default" leftSection={<IconDownload size={14} />}>
            Download
          </Button>
        </Group>
      }
    >
      <LogFilterBar error={error} />
      <Loaded {...query} isEmpty={lines.length === 0} empty={isFiltered(filter) ? noneFits(hasOlder) : nothing("No process has written anything")}>
        {isReadingOlder && (
          <Text size="xs" c="dimmed" px="md" pb={4} role="status">
            Reading older lines
          </Text>
        )}
        <LogView lines={lines} follow={follow} onFollow={moved} onTop={() => hasOlder && !isReadingOlder && void readOlder()} place={place} withLabels={role === null || rank === null} />
      </Loaded>
    </Panel>
  )
}

/** "86 lines", or "12 of 86 lines" where filters leave some out. */
function countLines(shown: number, read: number): string {
  return shown === read ? counted(read, "line") : `${formatCount(shown)} of ${counted(read, "line")}`
}

/** The sentence about lines that are missing: the newest are not known while the server is away. */
function rest(hasOlder: boolean, connection: Connection): string {
  if (connection === "reconnecting") return "; newer ones follow when the server answers again"
  return hasOlder ? "; scroll up for older ones" : ""
}

function noneFits(hasOlder: boolean): string {
  return hasOlder ? "Older lines are being searched." : "No line matches these filters."
}
