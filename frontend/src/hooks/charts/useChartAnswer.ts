import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body, type Job } from "@/client"
import { gather } from "@/lib/api/gather"
import type { ChartAnswer, ChartQuestion } from "@/lib/charts/chartData"

/** Charts that are asked for together are one request. */
const ask = gather(async (names: string[], { id, axis, range, width }: ChartQuestion & { id: string }): Promise<ChartAnswer[]> => {
  const query = { name: names, x: axis, columns: width, from: range?.from, to: range?.to }
  const { charts } = await body(api.GET("/api/v1/jobs/{id}/chart", { params: { path: { id }, query } }))
  return names.map((name) => charts.find((chart) => chart.name === name) ?? { series: [] })
})

/** The columns of a metric. While another range is on its way, the former answer stays. Without a question nothing is asked.
 *  An answer belongs to one opening of the job: what the stream told another one is not known to this one. */
export function useChartAnswer({ id, seq }: Pick<Job, "id" | "seq">, name: string, question: ChartQuestion | null) {
  return useQuery({
    queryKey: ["chart", id, seq, name, question],
    queryFn: async () => ({ question: question!, answer: await ask(name, { id, ...question! }) }),
    enabled: question !== null,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  })
}
