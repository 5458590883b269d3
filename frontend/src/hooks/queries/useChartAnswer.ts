import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { api, body } from "@/client"
import type { ChartAnswer, ChartQuestion } from "@/lib/chartData"
import { gather } from "@/lib/gather"

/** Charts that are asked for together are one request. */
const ask = gather(async (names: string[], { id, axis, range, width }: ChartQuestion & { id: string }): Promise<ChartAnswer[]> => {
  const query = { name: names, x: axis, columns: width, from: range?.from, to: range?.to }
  const { charts } = await body(api.GET("/api/v1/jobs/{id}/chart", { params: { path: { id }, query } }))
  return names.map((name) => charts.find((chart) => chart.name === name) ?? { series: [] })
})

/** The columns of a metric. While another range is on its way, the former answer stays. Without a question nothing is asked. */
export function useChartAnswer(id: string, name: string, question: ChartQuestion | null) {
  return useQuery({
    queryKey: ["chart", id, name, question],
    queryFn: async () => ({ question: question!, answer: await ask(name, { id, ...question! }) }),
    enabled: question !== null,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 60_000,
  })
}
