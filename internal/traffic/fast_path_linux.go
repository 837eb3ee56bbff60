package traffic

func fastestPath() path {
	return path{name: "fast", net: fast{}, request: requestFast, respond: respondFast, cycle: cycleFast, answer: answerFast,
		threads: &threads{bulk: bulk, several: several}}
}
