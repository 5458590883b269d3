import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useUncommittedChanges } from "@/hooks/job/files/useBundle"
import { DifferingFile } from "@/panels/job/config/CodeDiff"

const CHANGES = { added: "is not in the commit", removed: "is in the commit alone", changed: "differs" }

/** The files of the job's code that differed from the commit that it was submitted from, line by line. */
export function UncommittedPanel({ id, commit }: { id: string; commit: string }) {
  const changes = useUncommittedChanges(id)
  const items = changes.data?.items ?? []
  return (
    <Panel title="Changes that were not committed" subtitle={`Differences of the submitted files from commit ${commit.slice(0, 12)}`}>
      <Loaded {...changes} isEmpty={changes.data !== undefined && items.length === 0} empty="The client did not record them.">
        {items.map((each) => (
          <DifferingFile key={each.path} {...each} says={CHANGES[each.change]} />
        ))}
      </Loaded>
    </Panel>
  )
}
