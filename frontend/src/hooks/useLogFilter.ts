import { useAddress, put } from "./useAddress"
import { LEVELS, type LogFilter } from "@/lib/logFilter"

/** Which lines are shown, as it stands in the address. */
export function useLogFilter(): [LogFilter, (change: Partial<LogFilter>) => void] {
  const [params, edit] = useAddress()
  const change = (changed: Partial<LogFilter>) =>
    edit((next) => {
      const after = { ...read(next), ...changed }
      put(next, "role", after.role ?? "")
      put(next, "rank", after.rank === null ? "" : String(after.rank))
      put(next, "level", after.level ?? "")
      put(next, "text", after.text)
      put(next, "regex", after.regex ? "1" : "")
    })
  return [read(params), change]
}

function read(params: URLSearchParams): LogFilter {
  const rank = params.get("rank")
  return {
    role: params.get("role"),
    rank: rank === null || !/^\d+$/.test(rank) ? null : Number(rank),
    level: LEVELS.find((level) => level === params.get("level")) ?? null,
    text: params.get("text") ?? "",
    regex: params.has("regex"),
  }
}

/** The line at the top of the view, which stands in the address while nobody follows the end. */
export function useLogPlace(): [string | null, (key: string | null) => void] {
  const [params, edit] = useAddress()
  return [params.get("line"), (key) => edit((next) => put(next, "line", key ?? ""))]
}
