import { Container } from "@mantine/core"
import { useRouteError } from "react-router"
import { Loaded } from "@/components/messages/Loaded"

export function PageError() {
  const error = useRouteError()
  return (
    <Container size="sm" py="xl">
      <Loaded error={error instanceof Error ? error : new Error(String(error))} refetch={() => window.location.reload()}>
        {null}
      </Loaded>
    </Container>
  )
}
