import { useState } from "react"
import type { Code, Picked } from "@/lib/upload/bundle"
import { useUploadBundle } from "./useUploadBundle"

/** The code of a new job: a bundle that the server has, or files that are selected and not sent yet. */
export function useCode(initial: Code | null) {
  const [code, setCode] = useState(initial)
  const [picked, setPicked] = useState<Picked | null>(null)
  const upload = useUploadBundle()
  const take = (next: Code | null) => {
    setPicked(null)
    setCode(next)
  }
  const pick = (next: Picked | null) => {
    upload.reset()
    setPicked(next)
  }
  const send = async (selected: Picked): Promise<Code> => {
    const { hash, files } = await upload.mutateAsync(selected.files)
    const sent = { hash, origin: `${files.length} uploaded file${files.length === 1 ? "" : "s"}`, files }
    take(sent)
    return sent
  }
  return { code, picked, take, pick, send, upload }
}
