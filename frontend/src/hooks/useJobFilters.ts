import { readView, writeView, type JobView } from "@/lib/jobView"
import { useAddress } from "./useAddress"

/** A function gets the view as it is by then: another change may be on its way into the address. */
export type ChangeView = (over: Partial<JobView> | ((now: JobView) => Partial<JobView>)) => void

/** Filters, order and columns of the list, kept in the address. */
export function useJobFilters(): [JobView, ChangeView] {
  const [params, edit] = useAddress()
  const change: ChangeView = (over) =>
    edit((address) => {
      const now = readView(address)
      writeView(address, { ...now, ...(typeof over === "function" ? over(now) : over) })
    })
  return [readView(params), change]
}
