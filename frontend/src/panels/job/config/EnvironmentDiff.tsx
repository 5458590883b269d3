import { Text } from "@mantine/core"
import type { Job } from "@/client"
import { useArtifacts } from "@/hooks/job/files/useArtifacts"
import { useFileText } from "@/hooks/job/files/useFiles"
import { environmentRecord, readEnvironment, type Environment } from "@/lib/job/files/environment"
import { recordDifferences } from "@/lib/job/files/code"
import { DifferencesTable } from "./DifferencesTable"

const FILE = "environment.json"

/** Packages and machine of worker 0 in which two jobs differ. */
export function EnvironmentDiff({ jobs, names }: { jobs: readonly [Job, Job]; names: readonly [string, string] }) {
  const [own, theirs] = [useEnvironment(jobs[0]), useEnvironment(jobs[1])]
  if (own === null || theirs === null) return null // not recorded: one of them has not trained yet
  const rows = recordDifferences(environmentRecord(own), environmentRecord(theirs))
  if (rows.length > 0) return <DifferencesTable head="Environment" rows={rows} names={names} />
  return (
    <Text size="sm" px={18}>
      Both jobs ran with the same packages on the same machine.
    </Text>
  )
}

function useEnvironment(job: Job): Environment | null {
  const artifacts = useArtifacts(job, 0)
  const recorded = artifacts.data?.items.some(({ name }) => name === FILE) ?? false
  const text = useFileText(job.id, { attempt: null, path: FILE }, recorded)
  return text.data === undefined ? null : readEnvironment(text.data)
}
