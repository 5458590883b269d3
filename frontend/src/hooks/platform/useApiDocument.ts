import { useQuery } from "@tanstack/react-query"
import { readOpenApi } from "@/client"
import type { ApiDocument } from "@/lib/api/apiDocs"

export function useApiDocument() {
  return useQuery({ queryKey: ["openapi"], queryFn: () => readOpenApi<ApiDocument>(), staleTime: Infinity })
}
