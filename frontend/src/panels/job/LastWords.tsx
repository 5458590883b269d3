import { Anchor } from "@mantine/core"
import { Link } from "react-router"
import { useFeed } from "@/hooks/useFeed"
import { useEvents } from "@/hooks/useJobHistory"
import { lastWords } from "@/lib/events"
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
        <summary>What {said.label} wrote last</summary>
        <pre tabIndex={0} aria-label={`What ${said.label} wrote last`}>
          {said.lines}
        </pre>
      </details>
      <Anchor component={Link} to={`/jobs/${id}/logs?role=${role}${rank ? `&rank=${rank}` : ""}`} size="sm" underline="always">
        All that {said.label} wrote
      </Anchor>
    </>
  )
}
