import { Tooltip } from "@mantine/core"
import type { Connection } from "@/lib/stream"
import classes from "./ConnectionBadge.module.css"

const WORDS: Record<Connection, [word: string, meaning: string]> = {
  connecting: ["connecting", "The page is about to follow what happens."],
  live: ["live", "What you see is what is happening."],
  reconnecting: ["reconnecting", "The server cannot be reached. The page goes on where it was, without a gap, once it can."],
  ended: ["ended", "Nothing more will happen here."],
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
