import { useQuery } from "@tanstack/react-query"
import { readOpenApi } from "@/client"
import type { ApiDocument } from "@/lib/apiDocs"

export function useApiDocument() {
  return useQuery({ queryKey: ["openapi"], queryFn: () => readOpenApi<ApiDocument>(), staleTime: Infinity })
}
