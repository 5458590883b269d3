import { put, useAddress, useAddressView, type Change } from "@/hooks/useAddress"
import { LEVELS, type LogFilter } from "@/lib/logs/logFilter"

/** Which lines are shown, as it stands in the address. */
export function useLogFilter(): [LogFilter, Change<LogFilter>] {
  return useAddressView(read, write)
}

function write(params: URLSearchParams, over: Partial<LogFilter>, now: LogFilter): void {
  const after = { ...now, ...over }
  put(params, "role", after.role ?? "")
  put(params, "rank", after.rank === null ? "" : String(after.rank))
  put(params, "level", after.level ?? "")
  put(params, "text", after.text)
  put(params, "regex", after.regex ? "1" : "")
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

/** The line at the top of the view, which stands in the address unless the view follows the end. */
export function useLogPlace(): [string | null, (key: string | null) => void] {
  const [params, edit] = useAddress()
  return [params.get("line"), (key) => edit((next) => put(next, "line", key ?? ""))]
}
