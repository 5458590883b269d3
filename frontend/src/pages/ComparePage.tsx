import { Anchor, Group, Stack } from "@mantine/core"
import { IconGitCompare } from "@tabler/icons-react"
import { useMemo } from "react"
import { Link } from "react-router"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { Loaded } from "@/components/messages/Loaded"
import { PageTitle } from "@/components/page/PageTitle"
import { BoardContext, useBoardStore } from "@/hooks/charts/useBoard"
import { useComparedJobs } from "@/hooks/compare/useComparedJobs"
import { useComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison } from "@/hooks/compare/useComparison"
import { useAddress } from "@/hooks/useAddress"
import { differingPaths } from "@/lib/compare/fields"
import type { Compared } from "@/lib/compare/groups"
import { SelectedPanel } from "@/panels/compare/SelectedPanel"
import { CurvesPanel } from "@/panels/compare/CurvesPanel"
import { DiffPanel } from "@/panels/compare/DiffPanel"
import { ParallelPanel } from "@/panels/compare/ParallelPanel"
import { TargetPanel } from "@/panels/compare/TargetPanel"
import { SavedViews } from "@/panels/views/SavedViews"

/** Any number of jobs beside each other. All that is selected here stands in the address. */
export function ComparePage() {
  const [{ jobs: ids }] = useComparison()
  const [address] = useAddress()
  const found = useComparedJobs(ids)
  const { jobs, missing } = found
  return (
    <>
      <PageTitle
        title="Compare"
        subtitle={ids.length === 0 ? "Jobs side by side" : `${jobs.length} ${jobs.length === 1 ? "job" : "jobs"}; share this page's address to share the comparison`}
        actions={
          <Group gap="xs">
            {ids.length > 0 && <CopyIcon value={window.location.href} what="the link to this comparison" />}
            <SavedViews place="compare" path="/compare" query={address.toString()} />
          </Group>
        }
      />
      <Stack gap="md">
        <SelectedPanel jobs={jobs} missing={missing} />
        <Loaded {...found} isPending={found.isPending && jobs.length === 0} isEmpty={jobs.length === 0} empty={<Nothing />} emptyIcon={IconGitCompare} height={280}>
          <Comparing jobs={jobs} />
        </Loaded>
      </Stack>
    </>
  )
}

function Comparing({ jobs }: { jobs: readonly Compared[] }) {
  const paths = useMemo(() => differingPaths(jobs.map(({ fields }) => fields)), [jobs])
  const metric = useComparedMetric(jobs)
  return (
    <BoardContext value={useBoardStore()}>
      <CurvesPanel jobs={jobs} metric={metric} paths={paths} />
      <TargetPanel jobs={jobs} metric={metric} />
      <ParallelPanel jobs={jobs} paths={paths} />
      <DiffPanel jobs={jobs} paths={paths} />
    </BoardContext>
  )
}

function Nothing() {
  return (
    <>
      No job is selected. Add jobs by their names above, or select them in the{" "}
      <Anchor component={Link} to="/jobs" underline="always" size="sm">
        list of jobs
      </Anchor>
      .
    </>
  )
}
