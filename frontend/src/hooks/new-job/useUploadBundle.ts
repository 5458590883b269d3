import { useMutation } from "@tanstack/react-query"
import { uploadBundle } from "@/client"
import { pack, type PickedFile } from "@/lib/upload/bundle"

export function useUploadBundle() {
  return useMutation({
    mutationFn: async (files: readonly PickedFile[]) => uploadBundle(await pack(files)),
  })
}
