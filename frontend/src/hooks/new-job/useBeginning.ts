import { useQuery } from "@tanstack/react-query"
import { stringify } from "yaml"
import { api, body, type Example, type JobSpec } from "@/client"
import { withoutDefaults } from "@/lib/job-file/minimal"
import { stemOf, withNextName } from "@/lib/job-file/naming"
import { withOverrides } from "@/lib/job-file/overrides"
import type { JsonSchema } from "@/lib/job-file/schema"
import type { Code } from "@/lib/upload/bundle"

export interface Beginning {
  text: string
  code: Code | null
}

/** Stands in an empty job file until the code says which workloads it has. */
export const NO_ENTRYPOINT = "my_module:MyWorkload"

const EMPTY = `version: 1
name: my-job
workload:
  entrypoint: ${NO_ENTRYPOINT}
strategy:
  name: adag
stop:
  epochs: 10
`

/** The model of the other job that a new one continues from, as `start_from` names it. `checkpoint` may be the number of one of `attempt`. */
export interface Continued {
  checkpoint: string
  attempt: string | null
}

/** First text of a new job. `start`: the model of the job `from` that it continues from; null for none. */
export function useBeginning(from: string | null, example: string | null, start: Continued | null) {
  return useQuery({
    queryKey: ["beginning", from, example, start],
    queryFn: async (): Promise<Beginning> => {
      if (from) return copyOf(from, start)
      if (example) return ofExample(await body(api.GET("/api/v1/examples")), example)
      return { text: EMPTY, code: null }
    },
    staleTime: Infinity,
    gcTime: 0, // the next name depends on the jobs that there are
  })
}

/** It begins with the text that was sent, comments and all, where there is one; and with a name that no job has yet. */
async function copyOf(id: string, start: Continued | null): Promise<Beginning> {
  const [job, config] = await Promise.all([
    body(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
    body(api.GET("/api/v1/jobs/{id}/config", { params: { path: { id } } })),
  ])
  const sent = config.source === null ? await inShort(job.spec) : withOverrides(config.source, config.overrides)
  const named = withNextName(sent, await namesLike(job.name))
  const text = start ? withOverrides(named, [`start_from=${JSON.stringify({ job: id, ...inJobFile(start) })}`]) : named
  if (!job.bundle) return { text, code: null }
  const { files } = await body(api.GET("/api/v1/bundles/{hash}", { params: { path: { hash: job.bundle } } }))
  return { text, code: { hash: job.bundle, origin: `the code of ${job.name}`, files } }
}

function inJobFile({ checkpoint, attempt }: Continued) {
  if (!/^\d+$/.test(checkpoint)) return { checkpoint }
  return { checkpoint: Number(checkpoint), ...(attempt && { attempt: Number(attempt) }) }
}

/** Names of jobs that may be earlier runs of this one. */
async function namesLike(name: string): Promise<ReadonlySet<string>> {
  const { items } = await body(api.GET("/api/v1/jobs", { params: { query: { q: stemOf(name), limit: 500 } } }))
  return new Set([name, ...items.map((job) => job.name)])
}

async function inShort(spec: JobSpec): Promise<string> {
  const schema = (await body(api.GET("/api/v1/schema/job"))) as JsonSchema
  return stringify(withoutDefaults(spec, schema), { lineWidth: 0 })
}

function ofExample(examples: readonly Example[], name: string): Beginning {
  const found = examples.find((example) => example.name === name)
  if (!found) throw new Error(`There is no example named ${name}`)
  return { text: found.yaml, code: codeOf(found) }
}

export function codeOf({ bundle, name, files }: Example): Code {
  return { hash: bundle, origin: `the example ${name}`, files }
}
