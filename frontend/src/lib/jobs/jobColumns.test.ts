import { expect, it } from "vitest"
import { exportedColumns, fieldLabel, tableColumns } from "./jobColumns"

it("puts selected fields behind the columns that say which job it is", () => {
  expect(tableColumns(["status", "strategy", "loss"], ["lr"]).map(({ id }) => id)).toEqual(["status", "strategy", "lr", "loss"])
})

it("names a field in short", () => {
  const names = ["strategy.lr", "workload.args.hidden", "user/grad_norm", "min:eval/loss", "max:user/x", "roles.worker.count"]
  expect(names.map(fieldLabel)).toEqual(["lr", "hidden", "grad_norm", "lowest eval/loss", "highest user/x", "roles.worker.count"])
})

it("names columns of the CSV as the server does, and leaves out what is only drawn", () => {
  expect(exportedColumns(["status", "progress", "age", "time"], ["lr"])).toEqual(["tags", "status", "created", "started", "ended", "lr"])
})
