import { useSearchParams } from "react-router"
import { JOB_STATUSES } from "@/lib/status"
import type { JobFilters } from "./queries/useJobs"

/** The filters of the list, kept in the address. */
export function useJobFilters(): [JobFilters, (change: Partial<JobFilters>) => void] {
  const [params, setParams] = useSearchParams()
  const asked = params.getAll("status")
  const filters: JobFilters = {
    status: JOB_STATUSES.filter((status) => asked.includes(status)),
    strategy: params.get("strategy"),
    q: params.get("q") ?? "",
  }
  const change = (over: Partial<JobFilters>) => {
    const { status, strategy, q } = { ...filters, ...over }
    setParams([...status.map((one) => ["status", one] as [string, string]), ...(strategy ? [["strategy", strategy] as [string, string]] : []), ...(q ? [["q", q] as [string, string]] : [])], {
      replace: true,
    })
  }
  return [filters, change]
}
