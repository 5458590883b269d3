import { keepPreviousData, replaceEqualDeep, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { useCallback, useEffect, useState } from "react"
import { api, body, type BulkAction, type BulkItem } from "@/client"
import { PORTION } from "@/lib/jobs/bulk"
import { jobNews } from "@/lib/jobs/jobNews"
import { withoutJobs, type JobPages } from "@/lib/jobs/jobPages"
import { parametersOf, type JobQuery, type JobView } from "@/lib/jobs/jobView"

/** Jobs of the first page, which is waited for, and of each later one: every page that comes costs a drawing of the list. */
const FIRST_PAGE = 200
const NEXT_PAGE = 500
/** How long the pages of a list that was left are there for who comes back. */
const KEPT_MS = 300_000

/** The list as it was read, page after page; the stream keeps its rows up to date, so it is not read again while that is heard. */
export function useJobs(asked: JobQuery & Pick<JobView, "fields">) {
  const query = { ...parametersOf(asked), ...(asked.fields.length > 0 && { column: [...asked.fields] }) }
  return useInfiniteQuery({
    queryKey: ["jobs", query],
    queryFn: async ({ pageParam }) => {
      const asked = Date.now()
      const limit = pageParam === null ? FIRST_PAGE : NEXT_PAGE
      return { ...(await body(api.GET("/api/v1/jobs", { params: { query: { ...query, limit, cursor: pageParam } } }))), asked }
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: KEPT_MS,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
    structuralSharing: (before, read) => replaceEqualDeep(before, jobNews.into(read as JobPages)),
  })
}

/** Reads the list from its beginning. */
export function useReadJobsAgain(): () => void {
  const client = useQueryClient()
  return useCallback(() => {
    client.setQueriesData<JobPages>({ queryKey: ["jobs"] }, (data) => data && { pages: data.pages.slice(0, 1), pageParams: data.pageParams.slice(0, 1) })
    void client.invalidateQueries({ queryKey: ["jobs"] })
    void client.invalidateQueries({ queryKey: ["job-counts"] })
  }, [client])
}

/** Pages of an earlier visit may be old. A visit that comes `back` keeps all pages while they are read anew; one by a link begins with the first. */
export function useArrival(back: boolean): void {
  const client = useQueryClient()
  const readAgain = useReadJobsAgain()
  const [arrival] = useState(() => ({ back }))
  useEffect(() => {
    if (client.isFetching({ queryKey: ["jobs"] }) > 0) return // this is the first visit
    if (arrival.back) void client.invalidateQueries({ queryKey: ["jobs"] })
    else readAgain()
  }, [client, readAgain, arrival])
}

/** How many jobs there are of each status, strategy and user. */
export function useJobCounts() {
  return useQuery({ queryKey: ["job-counts"], queryFn: () => body(api.GET("/api/v1/jobs/counts")) })
}

/** How many jobs there are at all; null: not known yet. */
export function useJobTotal(): number | null {
  const { data } = useJobCounts()
  return data ? Object.values(data.status).reduce((sum, count) => sum + count, 0) : null
}

interface BulkChange {
  action: BulkAction
  ids: string[]
  tags?: string[]
}

/** After these a job is in no list that it was in. */
const LEAVE_THE_LIST: readonly BulkAction[] = ["delete", "archive", "unarchive"]

/** The same for many jobs; what was done to each. */
export function useChangeJobs() {
  const client = useQueryClient()
  return useMutation({
    mutationFn: async ({ action, ids, tags = [] }: BulkChange) => {
      const done: BulkItem[] = []
      for (let first = 0; first < ids.length; first += PORTION) {
        const { items } = await body(api.POST("/api/v1/jobs/bulk", { body: { action, tags, ids: ids.slice(first, first + PORTION) } }))
        done.push(...items)
      }
      return done
    },
    onSuccess: (items, { action }) => {
      const gone = new Set(items.flatMap(({ id, done }) => (done ? [id] : [])))
      if (!LEAVE_THE_LIST.includes(action)) return
      if (action === "delete") jobNews.deleted(gone)
      client.setQueriesData<JobPages>({ queryKey: ["jobs"] }, (data) => data && withoutJobs(data, gone))
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["job-counts"] }),
  })
}

/** Fields of the newest jobs: what can be a column. */
export function useJobFields(enabled: boolean) {
  return useQuery({ queryKey: ["job-fields"], queryFn: () => body(api.GET("/api/v1/jobs/fields")), enabled, staleTime: 60_000 })
}

/** Columns whose numbers a table of groups sums up, beside the fields of the view. */
export const SUMMED = ["loss", "accuracy", "throughput", "staleness"] as const

/** Jobs by the value of a field. */
export function useJobGroups(view: JobView, group: string) {
  const query = parametersOf({ ...view, sort: "created", by: null, descending: true })
  const column = [...SUMMED.filter((id) => view.columns.includes(id)), ...view.fields]
  return useQuery({
    queryKey: ["job-groups", group, query, column],
    queryFn: () => body(api.GET("/api/v1/jobs/groups", { params: { query: { ...query, group, column } } })),
    placeholderData: keepPreviousData,
  })
}
