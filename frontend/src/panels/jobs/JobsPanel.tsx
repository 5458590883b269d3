import { Button, Center } from "@mantine/core"
import { useCallback, useEffect, useMemo, useState } from "react"
import { Link, useNavigate } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useJobFilters } from "@/hooks/jobs/useJobFilters"
import { useArrival, useJobs, useJobTotal, useReadJobsAgain } from "@/hooks/jobs/useJobs"
import { useKeptPlace, type KeptPlace } from "@/hooks/jobs/useKeptPlace"
import { useRowKeys } from "@/hooks/jobs/useRowKeys"
import { useSelection } from "@/hooks/jobs/useSelection"
import { tableColumns } from "@/lib/jobs/jobColumns"
import { listed, newcomers, valuesOf, type Change } from "@/lib/jobs/jobPages"
import { addressOf, isFiltered } from "@/lib/jobs/jobView"
import { GroupsTable } from "./GroupsTable"
import { JobFilterBar } from "./JobFilterBar"
import { JobsGrid } from "./JobsGrid"
import { JobTableBar } from "./JobTableBar"
import { ListStatus } from "./ListStatus"
import { SelectAllButton } from "./SelectAllButton"
import { SelectionBar } from "./SelectionBar"

export function JobsPanel({ changes }: { changes: readonly Change[] }) {
  const [view, change] = useJobFilters()
  const jobs = useJobs(view)
  const kept = useKeptPlace()
  const [readAgain, readings] = useReadings(kept)
  const navigate = useNavigate()
  const items = useMemo(() => listed(jobs.data), [jobs.data])
  const values = useMemo(() => valuesOf(jobs.data), [jobs.data])
  const ids = useMemo(() => items.map(({ id }) => id), [items])
  const selection = useSelection(ids)
  const selected = items.filter(({ id }) => selection.ids.has(id))
  const rows = useRowKeys({
    ids,
    before: kept.place?.active ?? null,
    open: (index) => void navigate(`/jobs/${items[index]!.id}`),
    select: (index, range) => selection.toggle(items[index]!.id, range),
    clear: () => selection.all(false),
  })
  const { hasNextPage, isFetching, fetchNextPage } = jobs
  const readOn = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
  }, [hasNextPage, isFetching, fetchNextPage])
  const list = addressOf({ ...view, columns: [], fields: [] })
  const fresh = newcomers(changes, view, jobs.data).length
  const nothing = items.length === 0
  useEffect(() => {
    if (nothing && fresh > 0) readAgain() // there is no row that could move
  }, [nothing, fresh, readAgain])
  const all = useJobTotal()
  const total = jobs.isPlaceholderData ? null : (jobs.data?.pages[0]?.total ?? null)
  return (
    <Panel flush>
      <JobFilterBar view={view} change={change} />
      <JobTableBar view={view} change={change} />
      <ListStatus total={total} of={isFiltered(view) ? all : null} fresh={fresh} readAgain={readAgain} />
      <SelectionBar selectedJobs={selected} total={Math.max(total ?? 0, items.length)} selection={selection}>
        <SelectAllButton
          key={list}
          offered={hasNextPage && selected.length === items.length}
          read={items.length}
          total={total}
          fetchNextPage={fetchNextPage}
          select={selection.select}
        />
      </SelectionBar>
      {view.group !== null ? (
        <GroupsTable view={view} group={view.group} />
      ) : (
        <Loaded {...jobs} isEmpty={nothing} empty={isFiltered(view) ? "No job matches these filters." : <NoJobs />} height={280}>
          <JobsGrid
            key={`${list} ${readings}`}
            jobs={items}
            total={total ?? items.length}
            columns={tableColumns(view.columns, view.fields)}
            values={values}
            order={view}
            onOrder={change}
            selection={selection}
            rows={rows}
            kept={kept}
            readOn={readOn}
          />
        </Loaded>
      )}
    </Panel>
  )
}

/** Reads the list from its beginning and shows that; and how often it was done. A visitor who comes back finds the pages that were read. */
function useReadings(kept: KeptPlace): [() => void, number] {
  const [readings, setReadings] = useState(0)
  const read = useReadJobsAgain()
  useArrival(kept.place !== null)
  const { forget } = kept
  const again = useCallback(() => {
    forget()
    read()
    setReadings((now) => now + 1)
  }, [forget, read])
  return [again, readings]
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
