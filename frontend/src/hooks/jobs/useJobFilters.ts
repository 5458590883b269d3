import { useAddressView, type Change } from "@/hooks/useAddress"
import { readView, writeView, type JobView } from "@/lib/jobs/jobView"

/** Filters, order and columns of the list, kept in the address. */
export function useJobFilters(): [JobView, Change<JobView>] {
  return useAddressView(readView, (params, over, now) => writeView(params, { ...now, ...over }))
}
