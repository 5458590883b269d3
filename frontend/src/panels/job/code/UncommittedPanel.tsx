import { Text } from "@mantine/core"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useUncommittedChanges } from "@/hooks/job/files/useBundle"
import { DiffLines } from "@/panels/job/config/CodeDiff"
import classes from "@/panels/job/config/CodeDiff.module.css"

const CHANGES = { added: "is not in the commit", removed: "is in the commit alone", changed: "differs" }

/** The files of the job's code that differed from the commit that it was submitted from, line by line. */
export function UncommittedPanel({ id, commit }: { id: string; commit: string }) {
  const changes = useUncommittedChanges(id)
  const items = changes.data?.items ?? []
  return (
    <Panel title="Changes that were not committed" subtitle={`Differences of the submitted files from commit ${commit.slice(0, 12)}`}>
      <Loaded {...changes} isEmpty={changes.data !== undefined && items.length === 0} empty="The client did not record them.">
        {items.map(({ path, change, lines }) => (
          <section key={path} className={classes.file} aria-label={`Difference of ${path}`}>
            <Text size="sm" fw={550} mb={4} style={{ overflowWrap: "anywhere" }}>
              {path}{" "}
              <Text span inherit fw={400} c="dimmed">
                {CHANGES[change]}
              </Text>
            </Text>
            {change === "changed" && <DiffLines path={path} lines={lines} />}
          </section>
        ))}
      </Loaded>
    </Panel>
  )
}
