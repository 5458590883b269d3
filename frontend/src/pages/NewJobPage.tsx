import { useSearchParams } from "react-router"
import { Loaded } from "@/components/messages/Loaded"
import { PageTitle } from "@/components/page/PageTitle"
import { useBeginning } from "@/hooks/new-job/useBeginning"
import { NewJobForm } from "@/panels/new-job/NewJobForm"

/** A new job begins empty, as an example (`?example=`) or as a copy of another job (`?from=`), which may continue from its model (`&start=last`, `&start=3&attempt=1`). */
export function NewJobPage() {
  const [params] = useSearchParams()
  const from = params.get("from")
  const example = params.get("example")
  const [checkpoint, attempt] = [params.get("start"), params.get("attempt")]
  const beginning = useBeginning(from, example, checkpoint === null ? null : { checkpoint, attempt })
  const place = `${from} ${example}${checkpoint ? ` ${checkpoint}` : ""}${attempt ? ` ${attempt}` : ""}`
  return (
    <>
      <PageTitle title="New job" subtitle="Select the code, describe the job, submit it. Form and YAML show the same job file." />
      <Loaded {...beginning} height={320}>
        {beginning.data && <NewJobForm key={place} place={place} initial={beginning.data} />}
      </Loaded>
    </>
  )
}
