import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { compressedCopies } from "./compressedCopies.ts"
import { defineConfig } from "vitest/config"

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

export default defineConfig({
  plugins: [react(), compressedCopies()],
  resolve: { alias: { "@": path("./src") } },
  // The API serves what lies here: /assets as immutable, every other path as index.html.
  build: { outDir: path("../backend/page"), emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 700 },
  // `npm run dev` talks to a platform started with `gradstream up`.
  server: { proxy: { "/api": process.env.GRADSTREAM_URL ?? "http://127.0.0.1:8000" } },
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
