import { Anchor } from "@mantine/core"
import { Link } from "react-router"
import { useFeed } from "@/hooks/job/useFeed"
import { useEvents } from "@/hooks/job/useJobHistory"
import { lastWords } from "@/lib/job/events"
import classes from "./LastWords.module.css"

/** The end of the log of the process that the job failed for. */
export function LastWords() {
  const id = useFeed((feed) => feed.job.id)
  const said = lastWords(useEvents().data)
  if (!said) return null
  const [role, rank] = said.label.split("-")
  return (
    <>
      <details className={classes.words} open>
        <summary>Last output of {said.label}</summary>
        <pre tabIndex={0} aria-label={`Last output of ${said.label}`}>
          {said.lines}
        </pre>
      </details>
      <Anchor component={Link} to={`/jobs/${id}/logs?role=${role}${rank ? `&rank=${rank}` : ""}`} size="sm" underline="always">
        Full log of {said.label}
      </Anchor>
    </>
  )
}
