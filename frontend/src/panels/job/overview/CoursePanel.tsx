import { Text } from "@mantine/core"
import { Term } from "@/components/messages/Term"
import { Panel } from "@/components/page/Panel"
import { useFeed } from "@/hooks/job/useFeed"
import { useNothing } from "@/hooks/job/useNothing"
import { useOverview } from "@/hooks/job/useOverview"
import { ledgerInShort, noLedger } from "@/lib/job/ledger"
import { Timeline } from "./Timeline"

/** The phases of the job. `plain`: with its ledger and its attempt in a sentence each, as neither needs a panel. */
export function CoursePanel({ plain = false }: { plain?: boolean }) {
  const job = useFeed((feed) => feed.job)
  return (
    <Panel>
      <Timeline job={job} />
      {plain && <Account />}
    </Panel>
  )
}

function Account() {
  const job = useFeed((feed) => feed.job)
  const { data } = useOverview(job)
  const nothing = useNothing()
  const pushes = data?.ledger ? ledgerInShort(data.ledger) : noLedger(job.progress.version, nothing)
  return (
    <Text size="sm" c="dimmed" mt="sm" component="div">
      <Term word="ledger">Ledger</Term>: {pushes} <Term word="attempt">Attempts</Term>: {job.attempt} of at most {job.spec.retries + 1}.
    </Text>
  )
}
