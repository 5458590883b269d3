import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { compressedCopies } from "./compressedCopies.ts"
import { guides } from "./guides.ts"
import { mantineFirst } from "./mantineFirst.ts"
import { defineConfig } from "vitest/config"

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

const SHARED = "shared"
/** Small parts that several pages share travel together: a browser fetches six files at a time, and the page of a job had fifty. */
const output = {
  codeSplitting: { groups: [{ name: SHARED, minShareCount: 2, entriesAware: true, entriesAwareMergeThreshold: 60_000 }] },
  strictExecutionOrder: true,
  chunkFileNames: ({ name }: { name: string }) => `assets/${name.startsWith(SHARED) ? SHARED : "[name]"}-[hash].js`,
  assetFileNames: ({ names }: { names: string[] }) => `assets/${names[0]?.startsWith(SHARED) ? SHARED : "[name]"}-[hash][extname]`,
}

export default defineConfig({
  plugins: [guides(), react(), mantineFirst(), compressedCopies()],
  resolve: { alias: { "@": path("./src") } },
  // The API serves what lies here: /assets as immutable, every other path as index.html.
  build: { outDir: path("../backend/page"), emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 700, rolldownOptions: { output } },
  // `npm run dev` talks to a platform started with `gradstream up`.
  server: { fs: { allow: [".."] }, proxy: { "/api": process.env.GRADSTREAM_URL ?? "http://127.0.0.1:8000" } },
  test: {
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}", "eslint/*.test.js"],
    restoreMocks: true,
    // A process for each file costs five times the CPU time. So tests share modules, and leave them as they were.
    isolate: false,
    pool: "threads",
    // 5 s, the default of a test, are too few for ESLint on a machine that does other work.
    testTimeout: 60_000,
  },
})
