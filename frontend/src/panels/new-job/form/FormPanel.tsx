import { Accordion, Alert } from "@mantine/core"
import { useMemo } from "react"
import { Loaded } from "@/components/messages/Loaded"
import { Panel } from "@/components/page/Panel"
import { useDraftMarks, useStrayFaults } from "@/hooks/new-job/useDraft"
import { useJobSchema } from "@/hooks/new-job/useJobSchema"
import { readSchema, type Field } from "@/lib/job-file/schema"
import { Faults, NestedFields, SchemaField } from "./SchemaField"
import classes from "./SchemaField.module.css"

/** Fields that most jobs set. Fields of the schema that are in no group stand under "Everything else", new ones included. */
const GROUPS = [
  { title: "Job", keys: ["name", "workload", "batch_size", "seed"] },
  { title: "Algorithm", keys: ["strategy", "gate", "optimizer", "schedule", "members"] },
  { title: "Processes", keys: ["roles"] },
  { title: "End", keys: ["stop"] },
]

export function FormPanel({ error }: { error: string | null }) {
  const schema = useJobSchema()
  const fields = useMemo(() => (schema.data ? readSchema(schema.data) : []), [schema.data])
  const grouped = GROUPS.flatMap(({ keys }) => keys)
  const others = fields.filter(({ key, kind }) => !grouped.includes(key) && kind !== "fixed")
  const strays = useStrayFaults([], fields.map(({ key }) => key))
  const hidden = useDraftMarks(others.map(({ key }) => key))
  return (
    <Panel title="Job" subtitle="Empty fields use the default shown in grey">
      <Loaded {...schema} height={300}>
        {error && (
          <Alert color="yellow" variant="light" mb="md" title="The job file cannot be read">
            The form shows its last readable version. Correct the marked line of the job file.
          </Alert>
        )}
        <Faults messages={schema.data ? strays : []} />
        <fieldset disabled={error !== null} className={classes.whole}>
          {GROUPS.map(({ title, keys }) => (
            <Group key={title} title={title} fields={keys.flatMap((key) => fields.filter((field) => field.key === key))} />
          ))}
          <Accordion variant="separated" keepMounted={false}>
            <Accordion.Item value="others">
              <Accordion.Control>Everything else{hidden > 0 && <span className={classes.marked}> ({hidden} to look at)</span>}</Accordion.Control>
              <Accordion.Panel>
                <div className={classes.fields}>
                  {others.map((field) => (
                    <SchemaField key={field.key} field={field} path={[field.key]} />
                  ))}
                </div>
              </Accordion.Panel>
            </Accordion.Item>
          </Accordion>
        </fieldset>
      </Loaded>
    </Panel>
  )
}

function Group({ title, fields }: { title: string; fields: readonly Field[] }) {
  return (
    <fieldset className={classes.group}>
      <legend>{title}</legend>
      <div className={classes.fields}>
        {fields.map((field) =>
          field.kind === "group" && !field.optional ? (
            <NestedFields key={field.key} field={field} path={[field.key]} flat />
          ) : (
            <SchemaField key={field.key} field={field} path={[field.key]} />
          ),
        )}
      </div>
    </fieldset>
  )
}
