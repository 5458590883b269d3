"""Wake-ups: who has changed a job tells the others over the live Redis (`wakeup`), and who waits hears it (`hub`)."""
