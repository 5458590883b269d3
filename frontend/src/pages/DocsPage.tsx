import { Anchor } from "@mantine/core"
import { openApiUrl } from "@/client"
import { PageTitle } from "@/components/page/PageTitle"
import { ApiPanel } from "@/panels/api/ApiPanel"

export function DocsPage() {
  return (
    <>
      <PageTitle
        title="API"
        subtitle={
          <>
            Sign in with a token from the settings. For programs:{" "}
            <Anchor href={openApiUrl} inherit underline="always">
              openapi.json
            </Anchor>
          </>
        }
      />
      <ApiPanel />
    </>
  )
}
