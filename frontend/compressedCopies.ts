import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import type { Plugin } from "vite"

const COMPRESSIBLE = /\.(js|css|svg)$/
/** A smaller file does not travel faster for being compressed. */
const LEAST_BYTES = 1024

/** Writes each script and style once more as `.br` and as `.gz`: the API sends these (backend/web/assets.py), and compresses none itself. */
export function compressedCopies(): Plugin {
  return {
    name: "compressed-copies",
    apply: "build",
    async writeBundle({ dir = "" }, bundle) {
      await Promise.all(Object.values(bundle).map((file) => copy(join(dir, file.fileName), file.type === "chunk" ? file.code : file.source)))
    },
  }
}

async function copy(path: string, content: string | Uint8Array): Promise<void> {
  const bytes = Buffer.from(content)
  if (!COMPRESSIBLE.test(path) || bytes.length < LEAST_BYTES) return
  const size = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
  await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, { params: size }))
  await writeFile(`${path}.gz`, await promisify(gzip)(bytes, { level: 9 }))
}
