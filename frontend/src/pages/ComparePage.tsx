import { Anchor, Group } from "@mantine/core"
import { IconGitCompare } from "@tabler/icons-react"
import { Link } from "react-router"
import { CopyIcon } from "@/components/buttons/CopyIcon"
import { Loaded } from "@/components/messages/Loaded"
import { PageTitle } from "@/components/page/PageTitle"
import { useComparedJobs } from "@/hooks/compare/useComparedJobs"
import { useComparedMetric } from "@/hooks/compare/useComparedMetric"
import { useComparison } from "@/hooks/compare/useComparison"
import { useRuns } from "@/hooks/compare/useRuns"
import { useAddress } from "@/hooks/useAddress"
import { ComparePanels } from "@/panels/compare/ComparePanels"
import { PanelsMenu } from "@/panels/compare/PanelsMenu"
import { RunsPanel } from "@/panels/compare/runs/RunsPanel"
import { SavedViews } from "@/panels/views/SavedViews"
import classes from "./ComparePage.module.css"

/** Any number of jobs beside each other. All that is selected here stands in the address. */
export function ComparePage() {
  const [{ jobs: ids }] = useComparison()
  const [address] = useAddress()
  const found = useComparedJobs(ids)
  const { jobs, missing } = found
  const metric = useComparedMetric(jobs)
  const runs = useRuns(jobs, metric)
  return (
    <>
      <PageTitle
        title="Compare"
        subtitle={ids.length === 0 ? "Jobs side by side" : `${jobs.length} ${jobs.length === 1 ? "job" : "jobs"}; share this page's address to share the comparison`}
        actions={
          <Group gap="xs">
            {jobs.length > 0 && <PanelsMenu />}
            {ids.length > 0 && <CopyIcon value={window.location.href} what="the link to this comparison" />}
            <SavedViews place="compare" path="/compare" query={address.toString()} />
          </Group>
        }
      />
      <div className={classes.workspace}>
        <div className={classes.runs}>
          <RunsPanel runs={runs} missing={missing} />
        </div>
        <div className={classes.panels}>
          <Loaded {...found} isPending={found.isPending && jobs.length === 0} isEmpty={jobs.length === 0} empty={<Nothing />} emptyIcon={IconGitCompare} height={280}>
            <ComparePanels runs={runs} metric={metric} />
          </Loaded>
        </div>
      </div>
    </>
  )
}

function Nothing() {
  return (
    <>
      No job is selected. Add jobs by their names, or select them in the{" "}
      <Anchor component={Link} to="/jobs" underline="always" size="sm">
        list of jobs
      </Anchor>
      .
    </>
  )
}
