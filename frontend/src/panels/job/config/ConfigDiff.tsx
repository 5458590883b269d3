import { Box, Stack, Text } from "@mantine/core"
import type { Job, JobConfig } from "@/client"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useConfig } from "@/hooks/job/useConfig"
import { useFeed } from "@/hooks/job/useFeed"
import { useJob } from "@/hooks/job/useJob"
import { put, useAddress } from "@/hooks/useAddress"
import { configDifferences } from "@/lib/compare/fields"
import { CodeDiff } from "./CodeDiff"
import { DifferencesTable } from "./DifferencesTable"
import { EnvironmentDiff } from "./EnvironmentDiff"
import { OtherJobPicker } from "./OtherJobPicker"

/** Settings, environment and code in which this job and another one, which stands in the address, differ. */
export function ConfigDiff() {
  const job = useFeed((feed) => feed.job)
  const [params, edit] = useAddress()
  const other = params.get("against")
  return (
    <Panel title="Compared with another job" subtitle="The settings, with defaults filled in, the environment and the code in which two jobs differ" flush>
      <Box px={18} pb="sm">
        <OtherJobPicker own={job.id} value={other} onChange={(id) => edit((next) => put(next, "against", id ?? ""))} />
      </Box>
      {other !== null && <Against job={job} other={other} />}
    </Panel>
  )
}

function Against({ job, other }: { job: Job; other: string }) {
  const own = useConfig(job.id, job.shards)
  const theirs = useConfig(other)
  const theirJob = useJob(other)
  const names = [job.name, theirJob.data?.name ?? "the other"] as const
  return (
    <Stack gap="sm" pb="md">
      <Loaded {...theirs} isPending={own.isPending || theirs.isPending}>
        {own.data && theirs.data && <Settings sides={[own.data, theirs.data]} names={names} />}
      </Loaded>
      <Loaded {...theirJob}>
        {theirJob.data && (
          <>
            <EnvironmentDiff jobs={[job, theirJob.data]} names={names} />
            <CodeDiff bundles={[job.bundle, theirJob.data.bundle]} names={names} />
          </>
        )}
      </Loaded>
    </Stack>
  )
}

function Settings({ sides, names }: { sides: readonly [JobConfig, JobConfig]; names: readonly [string, string] }) {
  const rows = configDifferences(sides)
  if (rows.length > 0) return <DifferencesTable head="Setting" rows={rows} names={names} />
  return (
    <Text size="sm" px={18}>
      Both jobs run with the same values.
    </Text>
  )
}
