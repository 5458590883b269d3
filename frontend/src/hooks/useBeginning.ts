import { useQuery } from "@tanstack/react-query"
import { stringify } from "yaml"
import type { Code } from "@/lib/bundle"
import { withoutDefaults } from "@/lib/minimal"
import type { JsonSchema } from "@/lib/schema"
import { api, body, type Example } from "@/client"

export interface Beginning {
  text: string
  code: Code | null
}

const EMPTY = `version: 1
name: my-job
workload:
  entrypoint: my_module:MyWorkload
strategy:
  name: adag
stop:
  epochs: 10
`

/** What a new job begins as. */
export function useBeginning(from: string | null, example: string | null) {
  return useQuery({
    queryKey: ["beginning", from, example],
    queryFn: async (): Promise<Beginning> => {
      if (from) return copyOf(from)
      if (example) return ofExample(await body(api.GET("/api/v1/examples")), example)
      return { text: EMPTY, code: null }
    },
    staleTime: Infinity,
  })
}

async function copyOf(id: string): Promise<Beginning> {
  const job = await body(api.GET("/api/v1/jobs/{id}", { params: { path: { id } } }))
  const schema = (await body(api.GET("/api/v1/schema/job"))) as JsonSchema
  const text = stringify(withoutDefaults(job.spec, schema), { lineWidth: 0 })
  if (!job.bundle) return { text, code: null }
  const { files } = await body(api.GET("/api/v1/bundles/{hash}", { params: { path: { hash: job.bundle } } }))
  return { text, code: { hash: job.bundle, origin: `the code of ${job.name}`, files } }
}

function ofExample(examples: readonly Example[], name: string): Beginning {
  const found = examples.find((example) => example.name === name)
  if (!found) throw new Error(`There is no example named ${name}`)
  return { text: found.yaml, code: codeOf(found) }
}

export function codeOf({ bundle, name, files }: Example): Code {
  return { hash: bundle, origin: `the example ${name}`, files }
}
