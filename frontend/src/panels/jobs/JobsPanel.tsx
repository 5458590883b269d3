import { Button, Center } from "@mantine/core"
import { useDebouncedValue } from "@mantine/hooks"
import { Link } from "react-router"
import { Loaded } from "@/components/Loaded"
import { Panel } from "@/components/Panel"
import { useJobs } from "@/hooks/queries/useJobs"
import { useJobFilters } from "@/hooks/useJobFilters"
import { JobFilterBar } from "./JobFilterBar"
import { JobsTable } from "./JobsTable"

export function JobsPanel() {
  const [filters, change] = useJobFilters()
  const [q] = useDebouncedValue(filters.q, 200)
  const jobs = useJobs({ ...filters, q })
  const items = jobs.data?.pages.flatMap((page) => page.items) ?? []
  const filtered = filters.status.length > 0 || filters.strategy !== null || filters.q !== ""
  return (
    <Panel flush>
      <JobFilterBar filters={filters} change={change} />
      <Loaded {...jobs} isEmpty={items.length === 0} empty={filtered ? "No job fits these filters." : <NoJobs />} height={280}>
        <JobsTable jobs={items} />
        {jobs.hasNextPage && (
          <Center p="md">
            <Button variant="default" size="sm" onClick={() => jobs.fetchNextPage()} loading={jobs.isFetchingNextPage}>
              Show older jobs
            </Button>
          </Center>
        )}
      </Loaded>
    </Panel>
  )
}

function NoJobs() {
  return (
    <>
      No job has been submitted yet.
      <Center mt="md">
        <Button component={Link} to="/jobs/new">
          Train the first model
        </Button>
      </Center>
    </>
  )
}
