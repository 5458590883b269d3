import { Tooltip } from "@mantine/core"
import { formatDuration } from "@/lib/format"
import type { Span } from "@/lib/job/overview"
import classes from "./Strip.module.css"

/** All phases of all attempts on one line of time. */
export function Strip({ spans }: { spans: readonly Span[] }) {
  const whole = spans.reduce((sum, { from, to }) => sum + to - from, 0)
  const words = spans.map(({ attempt, phase, from, to }) => `attempt ${attempt} ${phase} ${formatDuration((to - from) / 1000)}`)
  return (
    <div className={classes.strip} role="img" aria-label={`Phases: ${words.join("; ")}`}>
      {spans.map(({ attempt, phase, from, to }, index) => (
        <Tooltip key={`${attempt} ${phase}`} label={words[index]}>
          <span className={classes.span} data-phase={phase} style={{ flexGrow: (to - from) / whole }}>
            {phase === "running" ? attempt : ""}
          </span>
        </Tooltip>
      ))}
    </div>
  )
}
