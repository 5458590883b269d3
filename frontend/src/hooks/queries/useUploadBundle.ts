import { useMutation } from "@tanstack/react-query"
import { uploadBundle } from "@/client"
import { pack, picked, withoutIgnored } from "@/lib/bundle"

export function useUploadBundle() {
  return useMutation({
    mutationFn: async (files: readonly File[]) => {
      const kept = await withoutIgnored(picked(files))
      if (kept.length === 0) throw new Error("There is no file to pack: everything picked is ignored.")
      return uploadBundle(await pack(kept))
    },
  })
}
