import { Text } from "@mantine/core"
import { useEffect, useRef } from "react"
import { formatClock } from "@/lib/format"
import type { LogLine } from "@/lib/logs"
import classes from "./LogView.module.css"

/** More would make the page slow; the saved file has them all. */
const DRAWN = 2000
const AT_END = 24

interface LogViewProps {
  lines: readonly LogLine[]
  follow: boolean
  /** Scrolling up stops following, scrolling to the end takes it up again. */
  onFollow: (follow: boolean) => void
  withLabels: boolean
}

export function LogView({ lines, follow, onFollow, withLabels }: LogViewProps) {
  const view = useRef<HTMLDivElement>(null)
  const drawn = lines.slice(-DRAWN)

  useEffect(() => {
    if (follow && view.current) view.current.scrollTop = view.current.scrollHeight
  }, [lines, follow])

  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = view.current!
    onFollow(scrollHeight - scrollTop - clientHeight < AT_END)
  }
  return (
    <div ref={view} className={classes.view} onScroll={scrolled} tabIndex={0} role="log" aria-label="Output of the processes" aria-live="off">
      {drawn.length < lines.length && (
        <Text size="xs" c="dimmed" px="md" py={4}>
          The last {DRAWN} lines. Saving gives all {lines.length}.
        </Text>
      )}
      {drawn.map(({ key, label, time, text }) => (
        <div key={key} className={classes.line}>
          <span className={classes.time}>{formatClock(time)}</span>
          {withLabels && <span className={classes.label}>{label}</span>}
          <span className={classes.text}>{text}</span>
        </div>
      ))}
    </div>
  )
}
