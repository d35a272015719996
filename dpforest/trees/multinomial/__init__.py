"""The multinomial forest: splits and leaves drawn from multinomials, each draw paid for."""
