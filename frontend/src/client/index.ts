/** The only way to the API. `schema.ts` is generated from its OpenAPI document; types are named here for the rest of the page. */
import createClient from "openapi-fetch"
import { Problem } from "./problem"
import type { components, paths } from "./schema"

type Schemas = components["schemas"]
/** As openapi-fetch types what it returns: it makes arrays of tuples, which the optimizers' `betas` are. */
type Answer<T> = T extends (infer Item)[] ? Answer<Item>[] : T extends object ? { [Key in keyof T]: Answer<T[Key]> } : T

export type Account = Schemas["PushOutcomes"]
export type Dealt = Schemas["DealtBatches"]
export type Artifact = Schemas["Artifact"]
export type Attempt = Schemas["Attempt"]
export type AttemptOverview = Schemas["AttemptOverview"]
export type BrowserSession = Schemas["BrowserSession"]
export type Bundle = Schemas["StoredBundle"]
export type BundledArgument = Schemas["BundledArgument"]
export type BundledWorkload = Schemas["BundledWorkload"]
export type CatalogueEntry = Schemas["CatalogueEntry"]
export type Distribution = Schemas["Distribution"]
export type Example = Schemas["Example"]
export type Job = Answer<Schemas["Job"]>
export type JobCheckpoint = Schemas["JobCheckpoint"]
export type ProcessFailure = Schemas["ProcessFailure"]
export type Exchange = Schemas["Exchange"]
/** Deleted jobs, as the stream of all jobs sends them. */
export interface Gone {
  ids: string[]
  upto: number
}
export type BulkAction = Schemas["BulkAction"]
export type BulkItem = Schemas["BulkItem"]
export type Holder = Schemas["HoldingJob"]
export type JobParameters = Schemas["JobParameters"]
export type JobSort = Schemas["JobSort"]
export type JobConfig = Schemas["Config"]
export type EventKind = Schemas["EventKind"]
export type JobEvent = Schemas["Event"]
export type JobExport = Schemas["JobExport"]
export type JobEdit = Schemas["JobEdit"]
export type JobGroup = Schemas["JobGroup"]
export type FieldStatistics = Schemas["FieldStatistics"]
export type JobFile = Schemas["JobFile"]
export type JobSpec = Answer<Schemas["JobSpec"]>
export type JobSummary = Schemas["JobSummary"]
export type JobStatus = Schemas["JobStatus"]
export type JobTable = Schemas["JobTable"]
export type JobTables = Schemas["JobTables"]
export type KeyExport = Schemas["KeyExport"]
export type JobTarget = Schemas["JobTarget"]
export type Importance = Schemas["Importance"]
export type SettingImportance = Schemas["SettingImportance"]
export type JobWarning = Schemas["JobWarning"]
export type LogChunk = Schemas["LogChunk"]
export type ModelSize = Schemas["Size"]
export type MediaItem = Schemas["MediaItem"]
export type MediaName = Schemas["MediaName"]
export type Node = Schemas["Node"]
export type Plan = Schemas["Plan"]
export type ChartLayout = Schemas["ChartLayout"]
export type SavedView = Schemas["SavedView"]
export type SaveView = Schemas["SaveLayout"] | Schemas["SaveQuery"]
export type ViewPlace = Schemas["ViewPlace"]
export type PlannedChange = Schemas["PlannedChange"]
export type PlannedTable = Schemas["PlannedTable"]
export type PlannedTables = Schemas["PlannedTables"]
export type Overview = Schemas["Overview"]
export type Process = Schemas["Process"]
export type RowBin = Schemas["RowBin"]
export type ServerLoad = Schemas["ServerLoad"]
export type ShardLoad = Schemas["ShardLoad"]
export type Waiting = Schemas["WaitingJob"]
export type UpdateGroup = Schemas["UpdateGroup"]
export type UpdateHistograms = Schemas["UpdateHistograms"]
export type StoredHistogram = Schemas["StoredHistogram"]
export type TableKey = Schemas["TableKey"]
export type Token = Schemas["Token"]
export type PeerLoad = Schemas["PeerLoad"]
export type SlowWorker = Schemas["SlowWorker"]
export type StragglerRemedy = Schemas["StragglerRemedy"]
export type WorkerLoad = Schemas["WorkerLoad"]

export { isMissing, isSignedOut, Problem, type Fault } from "./problem"

export const api = createClient<paths>({ baseUrl: window.location.origin })
api.use({
  async onResponse({ response }) {
    if (!response.ok) throw await Problem.from(response)
  },
})

/** The body of an answer. Errors were thrown before, so a missing body means an answer without one. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T
}

/** Sends the packed files as they are; openapi-fetch would make JSON of them. */
export function uploadBundle(bundle: Blob): Promise<Bundle> {
  return body(
    api.POST("/api/v1/bundles", {
      headers: { "Content-Type": "application/gzip" },
      body: bundle as never,
      bodySerializer: (blob: unknown) => blob as Blob,
    }),
  )
}

export const openApiUrl = "/api/v1/openapi.json"

/** `since`: value of the last event `gone`, so that none is missed while the page does not listen. */
export function jobsStreamUrl(since: number | undefined): string {
  return `/api/v1/jobs/stream${since === undefined ? "" : `?since=${since}`}`
}

/** All jobs of a query with their columns, as CSV. */
export function jobsTableUrl(query: Record<string, string | boolean | readonly string[] | null>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const each of typeof value === "object" ? (value ?? []) : [String(value)]) params.append(name, each)
  }
  return `/api/v1/jobs/table?${params}`
}

/** The API's own description, which does not describe itself. */
export async function readOpenApi<T>(): Promise<T> {
  const response = await fetch(openApiUrl)
  if (!response.ok) throw await Problem.from(response)
  return (await response.json()) as T
}

export function jobStreamUrl(id: string, after: number): string {
  return `/api/v1/jobs/${id}/stream?after=${after}`
}

export function artifactUrl(jobId: string, name: string): string {
  return `/api/v1/jobs/${jobId}/artifacts/${name.split("/").map(encodeURIComponent).join("/")}`
}

/** One logged item. `download`: as a file to save. */
export function mediaUrl(jobId: string, seq: number, download = false): string {
  return `/api/v1/jobs/${jobId}/media/items/${seq}${download ? "?download=true" : ""}`
}

/** The content of a logged item, which has a form of its own for each kind. */
export async function readMedia(jobId: string, seq: number): Promise<Response> {
  const response = await fetch(mediaUrl(jobId, seq))
  if (!response.ok) throw await Problem.from(response)
  return response
}

/** All points of a metric, as they were measured. */
export function metricExportUrl(jobId: string, name: string, format: "csv" | "parquet"): string {
  return `/api/v1/jobs/${jobId}/metrics/export?name=${encodeURIComponent(name)}&format=${format}`
}

export function fileUrl(jobId: string, attempt: number, path: string): string {
  return `/api/v1/jobs/${jobId}/files/${attempt}/${path.split("/").map(encodeURIComponent).join("/")}`
}

export function logsUrl(jobId: string, { role, rank }: { role: string | null; rank: number | null }): string {
  const query = new URLSearchParams({ ...(role && { role }), ...(rank !== null && { rank: String(rank) }) })
  return `/api/v1/jobs/${jobId}/logs/download${query.size > 0 ? `?${query}` : ""}`
}

/** Where the code of a job can be downloaded, as it was sent. */
export function bundleUrl(hash: string): string {
  return `/api/v1/bundles/${hash}/archive`
}
