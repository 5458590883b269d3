import { Progress, Text } from "@mantine/core"
import type { Job } from "@/client"
import { formatPercent } from "@/lib/format"
import { describeTimeLeft, share } from "@/lib/job/progress"
import { toneOf } from "@/lib/status"
import classes from "./ProgressBar.module.css"

/** How much of the training is done, and how long the slowest worker takes for the rest. A job that succeeded says so by its status. */
export function ProgressBar({ job }: { job: Job }) {
  const done = share(job)
  const left = describeTimeLeft(job)
  if (done === null || job.status === "succeeded") return null
  return (
    <div className={classes.bar}>
      <Progress
        value={done * 100}
        color={toneOf(job.status) === "bad" ? "red" : undefined}
        aria-label="Progress of the training"
        animated={job.status === "running"}
        size="md"
        flex={1}
      />
      <Text size="sm" className="numbers" fw={600} style={{ whiteSpace: "nowrap" }}>
        {formatPercent(done, 0)}
      </Text>
      {left !== null && (
        <Text size="sm" c="dimmed" className="numbers">
          {left}
        </Text>
      )}
    </div>
  )
}
