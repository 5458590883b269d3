import { Tooltip } from "@mantine/core"
import type { Connection } from "@/lib/stream/stream"
import classes from "./ConnectionBadge.module.css"

const WORDS: Record<Connection, [word: string, meaning: string]> = {
  connecting: ["connecting", "Connecting to the server"],
  live: ["live", "The page shows changes as they happen."],
  reconnecting: ["reconnecting", "The server cannot be reached. Updates resume without a gap once it answers."],
  ended: ["ended", "The job has ended: no more updates"],
}

export function ConnectionBadge({ connection }: { connection: Connection }) {
  const [word, meaning] = WORDS[connection]
  return (
    <Tooltip label={meaning}>
      <span className={classes.badge} data-connection={connection} role="status" aria-label={`Connection: ${word}`} tabIndex={0}>
        <span className={classes.dot} aria-hidden />
        {word}
      </span>
    </Tooltip>
  )
}
