import { Anchor } from "@mantine/core"
import { Link, useParams } from "react-router"
import { useFeed } from "@/hooks/job/useFeed"
import { useEvents } from "@/hooks/job/useJobHistory"
import { lastWords } from "@/lib/job/events"
import classes from "./LastWords.module.css"

const FIRST_TAB = "overview"

/** The end of the log of the process that the job failed for: open on the first tab, folded above the others. */
export function LastWords() {
  const { tab = FIRST_TAB } = useParams()
  const id = useFeed((feed) => feed.job.id)
  const said = lastWords(useEvents().data)
  if (!said) return null
  const [role, rank] = said.label.split("-")
  return (
    <>
      <details key={tab} className={classes.words} open={tab === FIRST_TAB}>
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
